"""`python -m kernel_grader_client`"""

from kernel_grader_client.cli import main

main()
