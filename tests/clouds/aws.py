"""moto as AWS, with one thing put right: what is called a digest is not hashed again.

moto does not look at MessageType and hashes every message. `--stock` leaves it so. Prints its port.
"""

import sys
import threading

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from moto.kms.responses import KmsResponse
from moto.kms.utils import ECDSAPrivateKey
from moto.server import ThreadedMotoServer

asked = threading.local()
sign_as_asked, sign_hashed = KmsResponse.sign, ECDSAPrivateKey.sign


def sign_request(self):
    asked.digest = self._get_param("MessageType") == "DIGEST"
    return sign_as_asked(self)


def sign(self, message, signing_algorithm):
    if not asked.digest:
        return sign_hashed(self, message, signing_algorithm)
    return self.private_key.sign(message, ec.ECDSA(utils.Prehashed(hashes.SHA256())))


if "--stock" not in sys.argv:
    KmsResponse.sign, ECDSAPrivateKey.sign = sign_request, sign
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
# Until whoever started this goes.
sys.stdin.read()
server.stop()
