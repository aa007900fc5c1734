package burst.controller.placement

/** Decides where the workers of a flare run: cluster state and request in, plan or typed reason out; nothing
  * else is read or changed.
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
  * The platform chooses ([[DefaultGranularity]]): a fixed number, or (the default) whatever costs least. The
  * units that `Mixed` puts on a machine share one container whatever their size, so that small ones cost no
  * extra start; single workers fit everywhere and leave the least over. So it takes whatever is free on a
  * machine as one pack, like `Heterogeneous`. `Homogeneous` has to choose; see there.
  */
trait PlacementPolicy:
  /** Returns a plan for `size` workers (at least 1), or why there is none. */
  def place(cluster: ClusterView, size: Int, granularity: Option[Int]): Either[NoPlacement, Plan]
