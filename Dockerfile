# Both operators in one image. They are static programs built by `make build`,
# so there is nothing to pull and nothing to compile here.
FROM scratch
COPY bin/memcached-operator bin/maintpage-operator /
USER 65532:65532
