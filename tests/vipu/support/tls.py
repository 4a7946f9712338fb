"""TLS for rawh2's servers, by Python's ssl: as a server would speak it, or record by record."""

import ssl


def context_of(certificate, alpn=("h2",)):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem, certificate.key)
    context.set_alpn_protocols(list(alpn))
    return context


def tls_script(certificate, script, **options):
    """A script for rawh2.Server that begins when the handshake is done."""
    context = context_of(certificate, **options)

    def begin(peer):
        try:
            peer.sock = context.wrap_socket(peer.sock, server_side=True)
        except ssl.SSLError:
            return
        script(peer)

    return begin


class Records:
    """The server's TLS in memory, so that the test decides which bytes of which record travel."""

    def __init__(self, sock, certificate):
        self.sock = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context_of(certificate).wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.step(self.tls.do_handshake)

    def step(self, action, *args):
        while True:
            try:
                value, is_done = action(*args), True
            except ssl.SSLWantReadError:
                value, is_done = None, False
            if out := self.outgoing.read():
                self.sock.sendall(out)
            if is_done:
                return value
            received = self.sock.recv(65536)
            if not received:
                raise EOFError
            self.incoming.write(received)

    def recv(self, count):
        return self.step(self.tls.read, count)

    def sealed(self, plain):
        self.tls.write(plain)
        return self.outgoing.read()

    def sendall(self, plain):
        self.sock.sendall(self.sealed(plain))


def records_script(certificate, script):
    """A script for rawh2.Server that gets a peer whose `sock` is Records."""
    def begin(peer):
        peer.sock = Records(peer.sock, certificate)
        script(peer)

    return begin
