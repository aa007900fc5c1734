package burst.protocol

import io.circe.Codec

/** What a warm pack serves: flares of this definition version with this many MiB per worker. `node` is where
  * it lies, in a cluster that has several.
  */
final case class WarmPack(definition: DefinitionRef, memory: Int, node: Option[String] = None)
    derives Codec.AsObject

/** What one node of a cluster has for an invoker's packs, those included that it runs there: so many workers,
  * and so many MiB.
  */
final case class NodeRoom(node: String, slots: Int, memory: Long) derives Codec.AsObject

/** Where an invoker's slots are what a cluster has for it now: what each of the nodes has, on one of which a
  * pack lies whole. A pack takes `packMemory` MiB beside what its workers have; there are never more than
  * `most` slots, however many nodes come.
  */
final case class ClusterRoom(nodes: Vector[NodeRoom], packMemory: Int, most: Int) derives Codec.AsObject

/** The runtime an invoker starts packs with: what a package must be built for. */
final case class RuntimeInfo(arch: String, glibc: String) derives Codec.AsObject

/** What an invoker offers and how busy it is. `cpuLoad` is the machine's, from 0 to 1. `warmPacks` counts the
  * idle packs, `warm` says for what they are; `prewarmedPacks` are containers for no definition yet. One that
  * is `leaving` takes no more flares, and stops when those it has are over. Where its slots follow a cluster,
  * `room` says which nodes have them; they are as many as those of all nodes. One that `shares` brings calls
  * of an action to the container that they are to share; of releases before that none does.
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
    leaving: Option[Boolean] = None,
    room: Option[ClusterRoom] = None,
    shares: Option[Boolean] = None
) derives Codec.AsObject:

  def isLeaving: Boolean = leaving.contains(true)
