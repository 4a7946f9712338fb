"""Finds secrets in what programs write (logs, objects, pages), in any encoding."""

import base64


def encodings(secret):
    """Every form in which a secret, text or bytes, could be written."""
    raw = secret.encode() if isinstance(secret, str) else secret
    digits = raw.hex().encode()
    return {raw, base64.b64encode(raw).rstrip(b"="), base64.urlsafe_b64encode(raw).rstrip(b"="), digits, digits.upper()}


def find(outputs, secrets):
    """Pairs (name, encoding) of each secret that one of `outputs`, texts by name, contains."""
    texts = {name: text if isinstance(text, bytes) else text.encode() for name, text in outputs.items()}
    return [(name, form) for name, text in texts.items() for secret in secrets for form in encodings(secret) if form in text]
