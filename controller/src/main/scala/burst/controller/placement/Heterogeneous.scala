package burst.controller.placement

/** The largest pack each machine can take, and so the fewest packs possible. `granularity` is not used: the
  * machines decide.
  */
object Heterogeneous extends PlacementPolicy:
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan] =
    UnitAllocation
      .allocate(cluster.machines, size, 1)
      .map(shares => Plan.ofShares(shares, shares.iterator.map(_.workers).max))
      .toRight(UnitAllocation.refusal(cluster, size, 1))
