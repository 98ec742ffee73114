"""``python -m diagnose``."""

from diagnose.cli import main

if __name__ == "__main__":  # a worker process may import this module again
    main()
