"""The option of every kind of server, in the order of the registry: apart from it, so that ``--help`` loads no kind."""

from loadtop.servers import apache, haproxy, mysql, nginx, php_fpm, postgresql, redis, uwsgi

STATUS_OPTIONS = (
    apache.OPTION,
    nginx.OPTION,
    php_fpm.OPTION,
    uwsgi.OPTION,
    haproxy.OPTION,
    redis.OPTION,
    mysql.OPTION,
    postgresql.OPTION,
)
