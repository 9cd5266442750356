"""The version of the contract, sent with every answer. Changes are additive."""

API_VERSION = "1.0"
