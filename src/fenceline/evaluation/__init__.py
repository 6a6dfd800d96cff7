"""Where measurements run: in this process, in guarded children, on a cluster."""
