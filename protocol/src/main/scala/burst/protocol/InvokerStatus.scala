package burst.protocol

import io.circe.Codec

/** What a warm pack serves: flares of this definition version with this many MiB per worker. */
final case class WarmPack(definition: DefinitionRef, memory: Int) derives Codec.AsObject

/** The runtime an invoker starts packs with: what a package must be built for. */
final case class RuntimeInfo(arch: String, glibc: String) derives Codec.AsObject

/** What an invoker offers and how busy it is. `cpuLoad` is the machine's, from 0 to 1. `warmPacks` counts the
  * idle packs, `warm` says for what they are; `prewarmedPacks` are containers for no definition yet.
  */
final case class InvokerStatus(
    id: InvokerId,
    slots: Int,
    cpuLoad: Double,
    driver: String,
    warmPacks: Int,
    runtime: RuntimeInfo,
    prewarmedPacks: Int = 0,
    warm: Set[WarmPack] = Set.empty
) derives Codec.AsObject
