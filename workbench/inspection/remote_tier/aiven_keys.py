"""The RSA keys that protect the data keys of Aiven's plugin, and AES-256-GCM.

A data key is encrypted with RSA, OAEP with SHA3-512 for both of its hashes, as Bouncy Castle names
it: ``RSA/NONE/OAEPWithSHA3-512AndMGF1Padding``. OpenSSL has no OAEP with SHA-3, so the padding is
removed here. Keys are never part of a finding, a message or a pickle.

Aiven: RsaEncryptionProvider, AesEncryptionProvider (1.2)
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from workbench.errors import ConfigError, CorruptFileError
from workbench.file_system.source import read_small
from workbench.inspection.remote_tier.aiven_manifest import Encryption
from workbench.runtime.extras import missing

IV_SIZE: Final = 12
TAG_SIZE: Final = 16

_MOST_KEY_BYTES: Final = 1 << 16
_HASH_SIZE: Final = hashlib.sha3_512().digest_size
_EMPTY_LABEL: Final = hashlib.sha3_512(b"").digest()


class KeyRing:
    """Private keys by the key ids of the plugin's configuration (`encryption.key.pairs`)."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        """Read the keys.

        Args:
            paths: key id → path of the private key: PEM, PKCS #8, without a password.

        Raises:
            ConfigError: a file cannot be read, or holds something else.
            MissingDependencyError: cryptography is not installed.
        """
        self._paths = dict(paths)
        assert self._keys is not None  # wrong files were refused before

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the keys: another process reads the files."""
        return {"_paths": self._paths}

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._paths

    @cached_property
    def _keys(self) -> "dict[str, _PrivateKey]":
        return {key_id: _read_key(path) for key_id, path in self._paths.items()}

    @cached_property
    def identity(self) -> str:
        """A digest of the ids and the public halves of the keys; empty without keys."""
        if not self._keys:
            return ""
        public = sorted((key_id, key.prime * key.second) for key_id, key in self._keys.items())
        return hashlib.sha256(repr(public).encode()).hexdigest()[:16]

    def cipher(self, encryption: Encryption) -> "Cipher":
        """Return what decrypts the chunks and indexes of a segment.

        Raises:
            CorruptFileError: the key is not here, or is not the one of the data key.
        """
        if encryption.key_id not in self:
            wanted = f"encrypted for the RSA key {encryption.key_id!r}, which was not given"
            raise CorruptFileError(None, None, wanted)
        data_key = _without_padding(self._keys[encryption.key_id].decrypt(encryption.data_key))
        if data_key is None or len(data_key) != 32:
            wrong = f"the RSA key {encryption.key_id!r} is not the one that the data key is for"
            raise CorruptFileError(None, None, wrong)
        return Cipher(data_key, encryption.aad)


class Cipher:
    """Decrypts the parts of one segment: each has its own IV before it, and a tag at its end."""

    def __init__(self, key: bytes, aad: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)
        self._aad = aad

    def decrypt(self, data: bytes) -> bytes:
        """Return what a part was before.

        Raises:
            CorruptFileError: the part, its key or the additional data are not the ones encrypted.
        """
        from cryptography.exceptions import InvalidTag

        if len(data) < IV_SIZE + TAG_SIZE:
            wanted = f"at least {IV_SIZE + TAG_SIZE} for the IV and the tag"
            raise CorruptFileError(None, None, f"an encrypted part of {len(data)} bytes, {wanted}")
        try:
            return self._cipher.decrypt(data[:IV_SIZE], data[IV_SIZE:], self._aad)
        except InvalidTag:
            problem = "an encrypted part does not match its tag (AES-GCM)"
            raise CorruptFileError(None, None, problem) from None


class _PrivateKey(NamedTuple):
    """A private key: its primes, the exponents modulo each less 1, the inverse of the second."""

    prime: int
    second: int
    exponent: int
    second_exponent: int
    inverse: int

    def decrypt(self, data: bytes) -> bytes:
        """Return the padded message, as many bytes as the modulus has (RFC 8017, 5.1.2)."""
        number = int.from_bytes(data)
        ours = pow(number, self.exponent, self.prime)
        theirs = pow(number, self.second_exponent, self.second)
        message = theirs + (ours - theirs) * self.inverse % self.prime * self.second
        return message.to_bytes(((self.prime * self.second).bit_length() + 7) // 8)


def _read_key(path: str) -> _PrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise missing("cryptography") from None
    try:
        key = load_pem_private_key(read_small(path, _MOST_KEY_BYTES), None)
    except OSError as error:
        raise ConfigError(path, f"the private key cannot be read: {error}") from None
    except (ValueError, TypeError):
        raise ConfigError(path, "not a private key in PEM without a password") from None
    if not isinstance(key, RSAPrivateKey):
        raise ConfigError(path, f"not an RSA key, but {type(key).__name__}")
    numbers = key.private_numbers()
    return _PrivateKey(numbers.p, numbers.q, numbers.dmp1, numbers.dmq1, numbers.iqmp)


def _without_padding(padded: bytes) -> bytes | None:
    """Return the message in a block of OAEP; None if it is none.

    RFC 8017, 7.1.2
    """
    if len(padded) < 2 * _HASH_SIZE + 2:
        return None
    masked_seed, masked = padded[1 : 1 + _HASH_SIZE], padded[1 + _HASH_SIZE :]
    seed = _xor(masked_seed, _mask(masked, _HASH_SIZE))
    block = _xor(masked, _mask(seed, len(masked)))
    label, rest = block[:_HASH_SIZE], block[_HASH_SIZE:].lstrip(b"\0")
    if padded[0] or label != _EMPTY_LABEL or rest[:1] != b"\1":
        return None
    return rest[1:]


def _mask(seed: bytes, size: int) -> bytes:
    """Return MGF1 with SHA3-512."""
    blocks = range(-(-size // _HASH_SIZE))
    return b"".join(hashlib.sha3_512(seed + n.to_bytes(4)).digest() for n in blocks)[:size]


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left) ^ int.from_bytes(right)).to_bytes(len(left))
