"""Certificates and keys, made afresh for each control plane."""

import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAYS = 2


def _write(path, data):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def _pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


def _name(common_name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Authority:
    """A certificate authority in a directory: ca.crt, ca.key, and what it signs."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._sign(self._key.public_key(), "tessera-e2e-ca", None)
        self.ca_file = self._path("ca.crt")
        self.ca_key_file = self._path("ca.key")
        _write(self.ca_file, self._certificate.public_bytes(serialization.Encoding.PEM))
        _write(self.ca_key_file, _pem(self._key))

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _sign(self, public_key, common_name, usage):
        now = datetime.datetime.utcnow()
        is_authority = usage is None
        builder = (x509.CertificateBuilder()
                   .subject_name(_name(common_name))
                   .issuer_name(_name("tessera-e2e-ca"))
                   .public_key(public_key)
                   .serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(hours=1))
                   .not_valid_after(now + datetime.timedelta(days=DAYS))
                   .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), True)
                   .add_extension(x509.KeyUsage(
                       digital_signature=True, key_cert_sign=is_authority, crl_sign=is_authority,
                       content_commitment=False, key_encipherment=False, data_encipherment=False,
                       key_agreement=False, encipher_only=False, decipher_only=False), True))
        if not is_authority:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
            builder = builder.add_extension(x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost"),
                 x509.DNSName("kubernetes.default.svc")]), False)
        return builder.sign(self._key, hashes.SHA256())

    def _issue(self, name, common_name, usage):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(key.public_key(), common_name, usage)
        files = self._path(f"{name}.crt"), self._path(f"{name}.key")
        _write(files[0], certificate.public_bytes(serialization.Encoding.PEM))
        _write(files[1], _pem(key))
        return files

    def server(self, name):
        """(certificate file, key file) of a server on 127.0.0.1."""
        return self._issue(name, name, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, name):
        return self._issue(name, name, ExtendedKeyUsageOID.CLIENT_AUTH)

    def service_account_key(self):
        """(public file, private file) of the key that signs service-account tokens."""
        key = rsa.generate_private_key(65537, 2048)
        files = self._path("sa.pub"), self._path("sa.key")
        _write(files[0], key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
        _write(files[1], _pem(key))
        return files
