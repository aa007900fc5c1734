package burst.controller.placement

/** Packs of exactly `g` workers, the last one smaller if `g` does not divide `n`; as many containers per
  * machine as fit. For comparisons and for functions that need packs of equal size.
  *
  * ==Without `g`==
  * The cheapest size of those that can be placed now: [[PackCosts]] adds up the time until the last container
  * runs and the slots left over on machines that are only partly filled. Among equals the fewest packs, then
  * the most even ones. With the default costs (a start 100 ms, a slot left over 5 ms):
  *
  * | free         | n  | g  | packs         | starts in a row | left over | cost   |                   |
  * |:-------------|:---|:---|:--------------|:----------------|:----------|:-------|:------------------|
  * | a:7 b:5      | 10 | 5  | a:5 b:5       | 1               | 2         | 110 ms | taken: even       |
  * |              |    | 7  | a:7 b:3       | 1               | 2         | 110 ms |                   |
  * |              |    | 2  | a:2,2,2 b:2,2 | 3               | 2         | 310 ms |                   |
  * | a:7 b:3      | 10 | 7  | a:7 b:3       | 1               | 0         | 100 ms | taken             |
  * | a:10 b:9 c:1 | 11 | 10 | a:10 c:1      | 1               | 0         | 100 ms | taken: b is whole |
  * |              |    | 6  | a:6 b:5       | 1               | 8         | 140 ms |                   |
  */
final class Homogeneous(default: DefaultGranularity) extends PlacementPolicy:
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan] =
    (granularity.orElse(default.unit(cluster)), default) match
      case (None, DefaultGranularity.Cheapest(costs)) =>
        cheapest(cluster, size, costs).toRight(UnitAllocation.refusal(cluster, size, 1))
      case (unit, _) =>
        val g = unit.fold(size)(_.min(size))
        ofUnit(cluster, size, g).toRight(UnitAllocation.refusal(cluster, size, g))

  private def ofUnit(cluster: ClusterView, size: Int, g: Int): Option[Plan] =
    UnitAllocation.allocate(cluster.machines, size, g).map(split(_, g))

  /** Tries sizes from the largest down, until the starts alone would cost more than the best plan so far. */
  private def cheapest(cluster: ClusterView, size: Int, costs: PackCosts): Option[Plan] =
    val order = UnitAllocation.ordered(cluster.machines)
    var best = Option.empty[(Vector[Share], (Long, Int, Int))]
    var g = if cluster.freeSlots < size then 0 else order.headOption.fold(0)(_.free.min(size))
    def mayImprove =
      best.forall((_, known) => costs.starting(ceilDiv(ceilDiv(size, g), order.length)) < known._1)
    while g > 0 && mayImprove do
      UnitAllocation.allocateOrdered(order, size, g).foreach { shares =>
        val cost = (costs.of(shares, g), ceilDiv(size, g), g)
        if best.forall((_, known) => Ordering[(Long, Int, Int)].lt(cost, known)) then
          best = Some((shares, cost))
      }
      g -= 1
    best.map { case (shares, (_, _, unit)) => split(shares, unit) }

  private def ceilDiv(a: Int, b: Int) = (a + b - 1) / b

  /** Splits every machine's share into its units. The short unit, if any, becomes the last pack, so that all
    * others are equal.
    */
  private def split(shares: Vector[Share], g: Int): Plan =
    val builder = Plan.Builder()
    for
      share <- shares
      _ <- 0 until share.workers / g
    do builder.add(share.invoker, g, share.node)
    for share <- shares if share.workers % g > 0 do builder.add(share.invoker, share.workers % g, share.node)
    builder.plan(g)
