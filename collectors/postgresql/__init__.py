"""PostgreSQL: sessions by what they do and wait for, and the account to ask with."""
