"""php-fpm: status pages of its pools and their configured limits."""
