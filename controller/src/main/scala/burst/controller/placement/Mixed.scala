package burst.controller.placement

/** Packs of `g`, those on one machine merged into one container. This has the locality of the largest packs,
  * while `g` keeps the shares of machines regular: a leftover smaller than `g` is not used, so that a flare
  * is not scattered over many machines with a worker or two on each. The default.
  */
final class Mixed(default: DefaultGranularity) extends PlacementPolicy:
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan] =
    granularity.orElse(default.unit(cluster)) match
      case None => Heterogeneous.place(cluster, size, None)
      case Some(wanted) =>
        val g = wanted.min(size)
        UnitAllocation
          .allocate(cluster.machines, size, g)
          .map(Plan.ofShares(_, g))
          .toRight(UnitAllocation.refusal(cluster, size, g))
