# Dyno with all of its adapters, run by a user without rights: docs/how-to/use-in-a-container.md.
FROM rust:1.89-bookworm AS build
WORKDIR /src
COPY . .
# Installs the libraries of the adapters, builds all, and packs it.
RUN cargo xtask dist

FROM debian:bookworm-slim
COPY --from=build /src/target/dist/out/*.deb /packages/
# Beside Dyno, what its stacks start. Versions are those of this Debian.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends /packages/*.deb mosquitto nats-server dbus-daemon openssl \
    && rm -rf /var/lib/apt/lists/* /packages \
    && useradd --create-home --uid 1000 dyno
USER 1000
WORKDIR /home/dyno
ENTRYPOINT ["dyno"]
CMD ["run", "quick"]
