# Cairn in a container:
#   docker build -t cairn .
#   docker run -p 8080:8080 -v /path/to/models:/models:ro -v cairn-cache:/var/lib/cairn cairn \
#     -m /models/FILE.gguf --api-key SECRET
#
# With -hf USER/REPO[:QUANT] in place of -m, the model is downloaded into the second volume.
#
# The first stage is a machine of a newcomer's, set up by the same script; the second has the package
# and nothing else. What is kept on disk is in /var/lib/cairn.

FROM debian:bookworm AS build
# The date that the package and its man pages bear; git, which knows it, stays outside.
ARG SOURCE_DATE_EPOCH
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates g++ cmake ninja-build make nodejs npm \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# One layer: the set-up reads package lists, which are not worth keeping.
RUN apt-get update && scripts/setup.sh && scripts/package.sh && rm -rf /var/lib/apt/lists/*

FROM debian:bookworm-slim
COPY --from=build /src/build/package/*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl /tmp/*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/* \
 && useradd --system --home-dir /var/lib/cairn --create-home cairn
USER cairn
ENV XDG_CACHE_HOME=/var/lib/cairn
VOLUME /var/lib/cairn
EXPOSE 8080
# Ready is when the model is loaded, which may take minutes.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m \
  CMD curl -fsS http://127.0.0.1:8080/health || exit 1
# Reachable from outside the container, which the program allows with --api-key only.
ENTRYPOINT ["cairn", "serve", "--host", "0.0.0.0", "--port", "8080"]
