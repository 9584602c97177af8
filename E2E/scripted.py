"""The server under the origins that a case writes itself."""

import sys
from http.server import ThreadingHTTPServer


class ScriptedServer(ThreadingHTTPServer):
    """Serves each connection in a thread of its own, and is silent about clients that leave."""

    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Prints an error of the origin. A client that cancels a request breaks its connection, which is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)
