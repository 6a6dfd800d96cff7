"""`python -m benchmarks.decisions`."""

import sys

from benchmarks.decisions.command import main

sys.exit(main())
