"""php-fpm as a kind of server."""
