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
  * It is the platform's choice, [[DefaultGranularity]]: either a fixed number, or (the default) as large as
  * the machines allow: `Mixed` then takes whatever is free on a machine as one pack, like `Heterogeneous`,
  * and `Homogeneous` the largest even size that can be placed now.
  */
trait PlacementPolicy:
  /** A plan for `size` workers (at least 1), or why there is none. */
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan]

/** The platform's choice of granularity where neither flare nor definition says one. */
enum DefaultGranularity:
  case Largest
  case Fixed(workers: Int)

  /** The unit to place by, if the choice names one; never larger than a machine, as the platform must not
    * choose what it cannot place.
    */
  def unit(cluster: ClusterView): Option[Int] = this match
    case Largest => None
    case Fixed(workers) => Some(workers.min(cluster.largestMachine).max(1))

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
  * The largest `g` that can be placed now, evened out where that costs no pack. `n = 10` on 7 and 5 free
  * slots: `g = 7` works (7 and the rest of 3) and needs 2 packs; as 5 and 5 work too, those are taken. On 7
  * and 3 free slots it stays 7 and 3.
  */
final class Homogeneous(default: DefaultGranularity) extends PlacementPolicy:
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan] =
    granularity.orElse(default.unit(cluster)) match
      case Some(g) => ofUnit(cluster, size, g.min(size)).toRight(refusal(cluster, size, g.min(size)))
      case None => largest(cluster, size).toRight(refusal(cluster, size, 1))

  private def ofUnit(cluster: ClusterView, size: Int, g: Int): Option[Plan] =
    UnitAllocation.allocate(cluster.machines, size, g).map(split(_, g))

  private def refusal(cluster: ClusterView, size: Int, g: Int) = UnitAllocation.refusal(cluster, size, g)

  private def largest(cluster: ClusterView, size: Int): Option[Plan] =
    val widest = cluster.machines.iterator.map(_.free).maxOption.getOrElse(0).min(size)
    if cluster.freeSlots < size then None
    else
      (widest to 1 by -1).iterator
        .flatMap(g => ofUnit(cluster, size, g))
        .nextOption()
        .map { plan =>
          val even = ceilDiv(size, plan.packs.length)
          if even == plan.granularity then plan else ofUnit(cluster, size, even).getOrElse(plan)
        }

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
