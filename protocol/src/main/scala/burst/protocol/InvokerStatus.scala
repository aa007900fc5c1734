package burst.protocol

import io.circe.Codec

/** What a warm pack serves: flares of this definition version with this many MiB per worker. */
final case class WarmPack(definition: DefinitionRef, memory: Int) derives Codec.AsObject

/** The runtime an invoker starts packs with: what a package must be built for. */
final case class RuntimeInfo(arch: String, glibc: String) derives Codec.AsObject

/** What an invoker offers and how busy it is. `cpuLoad` is the machine's, from 0 to 1. `warmPacks` counts the
  * idle packs, `warm` says for what they are; `prewarmedPacks` are containers for no definition yet. One that
  * is `leaving` takes no more flares, and stops when those it has are over.
  */
final case class InvokerStatus(
    id: InvokerId,
    slots: Int,
    cpuLoad: Double,
    driver: String,
    warmPacks: Int,
    runtime: RuntimeInfo,
    prewarmedPacks: Int = 0,
    warm: Set[WarmPack] = Set.empty,
    leaving: Option[Boolean] = None
) derives Codec.AsObject:

  def isLeaving: Boolean = leaving.contains(true)
