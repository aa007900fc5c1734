package burst.invoker.driver
package kubernetes

import burst.node.RuntimeBinary

object KubernetesKind extends DriverKind:
  val name = "kubernetes"
  override val isLocal = false

  def connect(settings: DriverSettings, host: DriverHost): ConnectedDriver =
    val own = KubernetesSettings.read(settings)
    val runtime = own.runtime.getOrElse(RuntimeBinary(host.runtimeBinary).describe())
    val cluster = KubernetesCluster.connect(own)
    // A container that is restarted in the same pod may have lost its disk.
    val owner = cluster.invoker.fold(DirectoryId.in(host.directory))(_.getUid)
    val calls = host.threads("burst-kubernetes", own.parallelism)
    val rooms =
      if own.followCluster then ClusterRooms.watch(own, owner, cluster, host.slots, runtime.arch, calls)
      else None
    val demand = rooms.filter(_ => own.demandPods > 0).map: rooms =>
      DemandPods(own, owner, cluster, () => rooms.hosts, runtime.arch)(using calls)
    ConnectedDriver(KubernetesDriver(own, owner, cluster, calls, rooms, demand), runtime)
