"""The guarded child process: limits are kept inside the task, whatever engine runs it."""
