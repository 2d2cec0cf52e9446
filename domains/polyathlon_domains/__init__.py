"""The domains: a folder a family, a module a domain."""
