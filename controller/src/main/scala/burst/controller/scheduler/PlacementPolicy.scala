package burst.controller.scheduler

import burst.controller.definition.Packing

/** Decides where the workers of a flare go: cluster state and request in, plan or typed reason out, nothing
  * else read or changed.
  *
  * ==Common ground==
  * Workers are placed in ''units'' of `g`; when `g` does not divide `n` the last unit is smaller (`n = 10`,
  * `g = 4`: units of 4, 4, 2). A unit never spans machines. A `g` above `n` counts as `n`. Which machines
  * take the units is one algorithm for all policies, [[UnitAllocation]]; the policies differ in what a unit
  * is and in whether the units of a machine share a container.
  *
  * | policy            | unit                    | container                     | packs for n=10, g=4 on free 9, 3, 2 |
  * |:------------------|:------------------------|:------------------------------|:------------------------------------|
  * | [[Homogeneous]]   | exactly `g`, last: rest | one per unit                  | 4, 4 on the first; 2 on the third   |
  * | [[Mixed]]         | `g`, last: rest         | one per machine, units merged | 8 on the first; 2 on the third      |
  * | [[Heterogeneous]] | one worker              | one per machine               | 9 on the first; 1 on the third      |
  *
  * ==When `g` is not given==
  * It is the platform's choice, [[DefaultGranularity]]: a fixed number, or (the default) what costs least.
  * The units that `Mixed` puts on a machine are one container whatever they are, so that small ones cost no
  * start; single workers fit everywhere and leave the least over. So it takes whatever is free on a machine
  * as one pack, like `Heterogeneous`. `Homogeneous` has to choose, see there.
  */
trait PlacementPolicy:
  /** A plan for `size` workers (at least 1), or why there is none. */
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan]

object PlacementPolicy:
  /** The three policies, with the platform's choice of granularity. */
  def all(default: DefaultGranularity): Map[Packing, PlacementPolicy] = Map(
    Packing.Mixed -> Mixed(default),
    Packing.Homogeneous -> Homogeneous(default),
    Packing.Heterogeneous -> Heterogeneous
  )

/** Packs of exactly `g` workers, the last one smaller where `g` does not divide `n`; as many containers per
  * machine as fit. For comparisons and for functions whose packs must be alike.
  *
  * ==Without `g`==
  * The size that costs least of those that can be placed now: [[PackCosts]] adds up the time until the last
  * container runs and the slots left over on machines that are broken into. Among equals the fewest packs,
  * then the most even ones. By the default costs (a start 100 ms, a slot left over 5 ms):
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

  /** Sizes are tried from the largest down, until the starts alone would cost more than what was found. */
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
    * others are alike.
    */
  private def split(shares: Vector[Share], g: Int): Plan =
    val builder = Plan.Builder()
    for
      share <- shares
      _ <- 0 until share.workers / g
    do builder.add(share.invoker, g)
    for share <- shares if share.workers % g > 0 do builder.add(share.invoker, share.workers % g)
    builder.plan(g)

/** Packs of `g`, those landing on one machine merged into one container: locality of the largest packs, while
  * `g` keeps the pieces a machine takes regular (a leftover smaller than `g` is not used, so that a flare is
  * not frayed over many machines with a worker or two on each). The default.
  */
final class Mixed(default: DefaultGranularity) extends PlacementPolicy:
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan] =
    granularity.orElse(default.unit(cluster)) match
      case None => Heterogeneous.place(cluster, size, None)
      case Some(wanted) =>
        val g = wanted.min(size)
        UnitAllocation
          .allocate(cluster.machines, size, g)
          .map(shares => Plan.of(shares.map(s => (s.invoker, s.workers)), g))
          .toRight(UnitAllocation.refusal(cluster, size, g))

/** The largest pack each machine can take, and so the fewest packs there can be. `granularity` is not used:
  * machines decide.
  */
object Heterogeneous extends PlacementPolicy:
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan] =
    UnitAllocation
      .allocate(cluster.machines, size, 1)
      .map(shares => Plan.of(shares.map(s => (s.invoker, s.workers)), shares.iterator.map(_.workers).max))
      .toRight(UnitAllocation.refusal(cluster, size, 1))
