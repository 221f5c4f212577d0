"""php-fpm: pools of children."""
