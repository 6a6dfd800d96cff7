"""What proposes the next pipeline; nothing here reads a file, fits a model or starts a process."""
