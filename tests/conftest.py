"""Settings of the whole test run."""

import signal

# A shell that starts a run in the background makes it ignore Ctrl-C, and every process that it
# starts as well; the tests of Ctrl-C are then about nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)
