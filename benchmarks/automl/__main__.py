"""`python -m benchmarks.automl`."""

import sys

from benchmarks.automl.command import main

sys.exit(main())
