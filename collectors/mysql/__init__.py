"""MySQL and MariaDB: what SHOW GLOBAL STATUS says."""
