"""Secrets that are planted must not be found in what is told: in no log, no object, no page, in no spelling."""

import base64


def forms(secret):
    """The ways in which a secret, text or bytes, could be written."""
    raw = secret.encode() if isinstance(secret, str) else secret
    digits = raw.hex().encode()
    return {raw, base64.b64encode(raw).rstrip(b"="), base64.urlsafe_b64encode(raw).rstrip(b"="), digits, digits.upper()}


def found(told, secrets):
    """Where in `told`, texts by their names, which form of which secret stands."""
    texts = {where: text if isinstance(text, bytes) else text.encode() for where, text in told.items()}
    return [(where, form) for where, text in texts.items() for secret in secrets for form in forms(secret) if form in text]
