"""`python -m launcher.probe URL`: exit status 0 if it answers 200 within 3 s, asked directly and through no proxy."""

import sys
import urllib.error
import urllib.request

TIMEOUT_S = 3.0


def main() -> int:
    """Standard library alone: a health check of a container runs often and should start fast."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(sys.argv[1], timeout=TIMEOUT_S) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
