package burst.controller.scheduler

import burst.controller.definition.Packing

/** A flare that was given its slots. */
final case class Placement(flare: Waiting, plan: Plan)

/** Hands out the free slots: cluster and queue in, cluster, queue and placements out. Pure, so that a
  * simulator can drive it with a clock of its own.
  *
  * ==Algorithm==
  * A round runs whenever a flare came or slots became free. Until no first-in-line of any namespace can be
  * placed, it places the first that can, in the order of [[FlareQueue.heads]]. A plan is reserved whole, in
  * one step ([[ClusterState.reserve]]): two flares that each find half of what they need never hold on to it.
  *
  * What stands in a flare's way decides who may pass it:
  *   - ''its namespace's slot limit'': everybody of other namespaces;
  *   - ''too few slots now'': flares of other namespaces may pass, but only until it has waited for
  *     `overtaking`. From then on it is ''overdue'': the oldest overdue flare is served before all accounts
  *     and nobody passes it, so that slots coming free add up for it. Every flare has a time-out, hence they
  *     do;
  *   - ''larger than what is up'': everybody. Were it to hold the others up, a lost machine would stop the
  *     cluster. It is refused at submission; this is for one whose machines went down while it waited.
  *
  * Within a namespace nobody passes: a large flare there is never starved by its own namespace.
  *
  * ==Worked example==
  * 8 slots, 4 of them free; overtaking 10 s. A's first wants 8 since 3 s, B's first wants 2, C's first wants
  *   4. A is passed by B (2 left), C does not fit. At 11 s, 4 more slots come free (6 free): A is overdue and
  *      still does not fit, so B's next flare of 2 waits though it would. At 14 s all 8 are free and A
  *      starts.
  */
final class SchedulingRound(policies: Map[Packing, PlacementPolicy], overtakingMicros: Long):
  import SchedulingRound.Outcome

  def run(cluster: ClusterState, queue: FlareQueue, now: Long, slotLimit: String => Int): Outcome =
    var outcome = Outcome(cluster, queue, Vector.empty)
    var going = true
    while going do
      step(outcome, now, slotLimit) match
        case Some(next) => outcome = next
        case None => going = false
    outcome

  /** What the policy says of a request on the machines that are up, `free` as they are. */
  def place(cluster: ClusterView, request: burst.controller.flare.FlareRequest): Either[NoPlacement, Plan] =
    policies(request.packing).place(cluster, request.size, request.granularity)

  /** Places one flare, if any can be. */
  private def step(outcome: Outcome, now: Long, slotLimit: String => Int): Option[Outcome] =
    val cluster = outcome.cluster
    val heads = outcome.queue.heads
    val (overdue, others) = heads.partition(head => now - head.since >= overtakingMicros)
    val inOrder = (overdue.sortBy(_.since) ++ others).iterator
    var chosen = Option.empty[Outcome]
    var blocked = false
    while chosen.isEmpty && !blocked && inOrder.hasNext do
      val head = inOrder.next()
      val isOverdue = now - head.since >= overtakingMicros
      val allowed = cluster.used(head.tenant) + head.size <= slotLimit(head.tenant)
      // too few slots whatever the policy: not worth asking, unless the answer may hold up the others
      val worthIt = isOverdue || head.size <= cluster.view.freeSlots
      if allowed && worthIt then
        place(cluster.view, head.request) match
          case Right(plan) =>
            chosen = cluster
              .reserve(head.owner, head.tenant, plan)
              .map(Outcome(_, outcome.queue.served(head), outcome.placed :+ Placement(head, plan)))
          case Left(NoPlacement.NotNow(_)) => blocked = isOverdue
          case Left(_: NoPlacement.Never) => ()
    chosen

object SchedulingRound:
  final case class Outcome(cluster: ClusterState, queue: FlareQueue, placed: Vector[Placement])
