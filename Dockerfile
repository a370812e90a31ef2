# Both operators, and what they run, in one image. They are static programs built by `make build`,
# so there is nothing to pull and nothing to compile here.
FROM scratch
COPY bin/memcached-operator bin/memcached-companion bin/memcached-agent bin/maintpage-operator bin/maintenance-page /
USER 65532:65532
