package burst.controller.placement

import burst.protocol.InvokerId

/** The workers of a flare on one machine, and the slots it then has left. */
final case class Share(invoker: InvokerId, workers: Int, left: Int, node: Option[String] = None)

/** Chooses the machines for the units of a flare: the algorithm of all placement policies.
  *
  * `n` workers are `q` units of `g` and, when `g` does not divide `n`, a last one of `r = n mod g`.
  *
  * ==Aims, in this order==
  *   1. fewest machines (with `Mixed` and `Heterogeneous`: fewest packs);
  *   1. fewest remote pairs of workers: machines as unevenly filled as possible, the largest first;
  *   1. warm packs: a start there takes a fraction of the time of one elsewhere;
  *   1. least fragmentation: the rest goes to the tightest machine that can take it, so that large free
  *      machines stay whole for later flares.
  *
  * ==Algorithm==
  *   1. Sort the machines by free slots, most first (among equals the warm ones, then by id: the outcome does
  *      not depend on the order of registration).
  *   1. Going through them, if any machine not yet used can take ''everything'' that is left, it goes to a
  *      warm one if one can, else to any; among those to the one with the fewest free slots (best fit): done.
  *   1. Otherwise the next machine takes all the whole units it can, and the short unit too if the slots left
  *      over hold it.
  *
  * Step 3 reaches the least number of machines: sorted by free slots they are sorted by the units they hold,
  * and among equals by what is left over for the short unit, so that no other choice of as many machines
  * holds more. Step 2 changes which machine is the last, never how many there are. Sorting dominates:
  * `O(m log m)` for `m` machines, whatever `n`.
  *
  * ==Worked examples==
  * Free slots by machine, then the shares:
  *
  * | free        | n  | g | shares          | why                                                          |
  * |:------------|:---|:--|:----------------|:-------------------------------------------------------------|
  * | a:8 b:6 c:4 | 4  | 1 | c:4             | c is the tightest that takes all; a stays whole              |
  * | a:8 b:6 c:4 | 11 | 1 | a:8 c:3         | no machine takes 11; a first; of b and c, c is tighter for 3 |
  * | a:8 b:6 c:4 | 4  | 1 | b:4             | b has a warm pack                                            |
  * | a:8 b:6 c:4 | 11 | 1 | a:8 b:3         | b has a warm pack                                            |
  * | a:8 b:6 c:4 | 10 | 4 | a:8 c:2         | two units on a; the short unit of 2 fits c best              |
  * | a:10 b:8    | 10 | 4 | a:10            | two units and the short one in a's leftover of 2             |
  * | a:7 b:7     | 8  | 4 | a:4 b:4         | one unit each: 3 slots left over hold no unit                |
  * | a:7 b:7     | 12 | 4 | none (8 usable) | 14 slots are free, but only two units of 4 fit               |
  */
object UnitAllocation:

  /** Shares in the order the machines were chosen, or nothing when the free slots do not hold the units. */
  def allocate(machines: Vector[Machine], n: Int, g: Int): Option[Vector[Share]] =
    allocateOrdered(ordered(machines), n, g)

  /** The machines in the order in which they are tried; sorted only once if several units are tried. */
  def ordered(machines: Vector[Machine]): Vector[Machine] = machines.filter(_.free > 0).sortWith(before)

  def allocateOrdered(order: Vector[Machine], n: Int, g: Int): Option[Vector[Share]] =
    val shares = Vector.newBuilder[Share]
    var left = n
    var next = 0
    while left > 0 && next < order.length do
      if order(next).free >= left then
        val tightest = order(bestFit(order, next, left))
        shares += Share(tightest.id, left, tightest.free - left, tightest.node)
        left = 0
      else
        val taken = take(free = order(next).free, left = left, g = g)
        if taken > 0 then
          shares += Share(order(next).id, taken, order(next).free - taken, order(next).node)
          left -= taken
        next += 1
    Option.when(left == 0)(shares.result())

  /** How many workers the machines could hold with units of `g`, given an unlimited number of workers. */
  def capacity(machines: Vector[Machine], g: Int): Int = machines.iterator.map(m => m.free / g * g).sum

  /** Distinguishes "not now" from "never" when there was no plan. */
  def refusal(cluster: ClusterView, n: Int, g: Int): NoPlacement =
    if allocate(cluster.emptied.machines, n, g).isDefined then NoPlacement.NotNow(cluster.freeSlots)
    else
      NoPlacement.Never(
        total = cluster.totalSlots,
        usable = capacity(cluster.emptied.machines, g),
        largest = cluster.largestMachine,
        unit = g
      )

  private def before(a: Machine, b: Machine): Boolean =
    if a.free != b.free then a.free > b.free
    else if a.warm != b.warm then a.warm
    else if a.id != b.id then Ordering[InvokerId].lt(a.id, b.id)
    else Ordering[Option[String]].lt(a.node, b.node)

  /** The whole units that fit `free` slots, and the short unit if it fits the leftover. Called only while
    * `free < left`.
    */
  private def take(free: Int, left: Int, g: Int): Int =
    val whole = free / g * g
    val short = left % g
    if short > 0 && free - whole >= short then whole + short else whole

  /** The last machine from `from` on, in descending order of free slots, that holds `left`, a warm one if
    * there is one; among equals the first by id.
    */
  private def bestFit(order: Vector[Machine], from: Int, left: Int): Int =
    var low = from
    var high = order.length - 1
    while low < high do
      val middle = (low + high + 1) >>> 1
      if order(middle).free >= left then low = middle else high = middle - 1
    val warm = order.lastIndexWhere(_.warm, low)
    val fit = if warm >= from then warm else low
    var first = fit
    while first > from && order(first - 1).free == order(fit).free && order(first - 1).warm == order(fit).warm
    do first -= 1
    first
