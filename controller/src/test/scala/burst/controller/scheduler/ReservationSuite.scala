package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.{ClusterView, DefaultGranularity, PackCosts, Packing, Plan}
import burst.node.MonotonicTime
import burst.protocol.{FlareId, InvokerId}
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import scala.concurrent.duration.Duration

class ReservationSuite extends ScalaCheckSuite:
  private val round =
    SchedulingRound(
      Packing.policies(DefaultGranularity.Cheapest(PackCosts.Measured)),
      overtaking = Duration.Zero,
      depth = 100
    )
  private val ids = Vector("a", "b", "c").map(InvokerId(_))

  /** Three machines, some possibly down, drained or overloaded, with holdings that last until given times. */
  private val clusters: Gen[ClusterState] =
    for
      slots <- Gen.listOfN(ids.length, Gen.choose(1, 9))
      running <- Gen.listOf(Gen.zip(Gen.choose(0, 2), Gen.choose(1, 4), Gen.choose(1L, 6L), Gen.prob(0.1)))
      harm <- Gen.choose(0, 5)
    yield
      val up = ids.zip(slots).foldLeft(ClusterState.empty):
        case (state, (id, slots)) => state.up(id, slots)
      val full = running.foldLeft(up):
        case (state, (machine, taken, until, isGroup)) =>
          val end = MonotonicTime.ofMicros(until)
          val walltime = Samples.walltime.copy(expected = end, latest = end, openEnded = isGroup)
          val plan = Plan.of(Vector(ids(machine) -> taken), taken)
          state.reserve(AttemptId(FlareId.random(), 1), "n", plan, walltime).getOrElse(state)
      harm match
        case 0 => full.down(ids.head)
        case 1 => full.drain(ids.head, drained = true)
        case 2 => full.report(ids.head, overloaded = true, Set.empty, shares = false)
        case _ => full

  private val requests: Gen[FlareRequest] =
    for
      size <- Gen.choose(1, 20)
      granularity <- Gen.option(Gen.choose(1, 5))
    yield Samples.request(size, granularity = granularity)

  /** Finds the first start by trying one moment after another. */
  private def first(
      cluster: ClusterState,
      request: FlareRequest
  ): Option[(MonotonicTime, ClusterView, Plan)] =
    val ends = cluster.holdings.values.filterNot(_.walltime.openEnded)
    ends.map(_.walltime.latest).toVector.distinct.sorted.iterator
      .map: moment =>
        val view = cluster.viewAfter(ends.filter(_.walltime.latest <= moment).map(_.taken).iterator)
        round.place(view, request).toOption.map((moment, view, _))
      .collectFirst { case Some(found) => found }

  property("a reservation is for the first moment with room, and slots left over then are spare"):
    forAll(clusters, requests): (cluster, request) =>
      val found =
        Reservation.earliest(cluster, request.size, request.memory, _.latest, round.place(_, request))
      val wanted = first(cluster, request).map: (moment, view, plan) =>
        Reservation(
          moment,
          view.machines
            .map(m =>
              m.location -> m.copy(free =
                m.free - plan.packs.filter(_.location == m.location).map(_.size).sum
              )
            )
            .toMap
        )
      assertEquals(found, wanted)
