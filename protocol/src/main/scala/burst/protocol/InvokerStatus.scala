package burst.protocol

import io.circe.Codec

/** What a warm pack serves: flares of this definition version with this many MiB per worker. `node` is where
  * the pack is, in a cluster that has several nodes.
  */
final case class WarmPack(definition: DefinitionRef, memory: Int, node: Option[String] = None)
    derives Codec.AsObject

/** The room that one node of a cluster has for an invoker's packs, including those already running there: how
  * many workers, and how many MiB.
  */
final case class NodeRoom(node: String, slots: Int, memory: Long) derives Codec.AsObject

/** The room of an invoker whose slots follow a cluster: that of each node; every pack lies whole on one of
  * them. A pack takes `packMemory` MiB in addition to its workers' memory; there are never more than `most`
  * slots, however many nodes are added.
  */
final case class ClusterRoom(nodes: Vector[NodeRoom], packMemory: Int, most: Int) derives Codec.AsObject

/** The runtime that an invoker starts packs with: what a package must be built for. */
final case class RuntimeInfo(arch: String, glibc: String) derives Codec.AsObject

/** What an invoker offers and how busy it is. `cpuLoad` is the machine's, from 0 to 1. `warmPacks` counts the
  * idle packs, and `warm` lists what they serve; `prewarmedPacks` counts containers without a definition yet.
  * An invoker that is `leaving` takes no more flares, and stops when those it has are over. If its slots
  * follow a cluster, `room` lists them by node; `slots` is their sum. One that `shares` brings calls of an
  * action to the container that they should share; invokers of older releases do not.
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
