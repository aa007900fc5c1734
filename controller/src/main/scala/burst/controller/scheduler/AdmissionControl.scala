package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.placement.{ClusterView, NoPlacement}
import burst.protocol.{FlareId, Timestamp}

/** Checks before a flare is accepted, and the initial state of an accepted one. Pure. */
object AdmissionControl:

  /** Returns why a flare can never run on the cluster in its present size, if so. `slotLimit` is its
    * namespace's; if the cluster can grow to `most` slots, flares that are too large for it now wait.
    */
  def refusal(
      round: SchedulingRound,
      cluster: ClusterView,
      most: Option[Long],
      request: FlareRequest,
      slotLimit: Int
  ): Option[Refusal] =
    if most.exists(request.size <= _) then overLimit(request, slotLimit)
    else if most.exists(_ > cluster.totalSlots) then
      Some(Refusal.TooLarge(request.size, most.fold(0)(_.min(Int.MaxValue).toInt)))
    else if cluster.totalSlots == 0 then Some(Refusal.NoInvokers)
    else
      round.place(cluster.emptied, request) match
        case Left(NoPlacement.Never(total, usable, largest, unit)) =>
          if request.size > total then Some(Refusal.TooLarge(request.size, total))
          else if unit > largest then Some(Refusal.UnitTooLarge(unit, largest))
          else
            Some(Refusal.UnitsTooLarge(
              size = request.size,
              granularity = unit,
              usable = usable,
              clusterSlots = total
            ))
        case _ => overLimit(request, slotLimit)

  private def overLimit(request: FlareRequest, slotLimit: Int): Option[Refusal] =
    Option.when(request.size > slotLimit):
      Refusal.OverLimit("concurrent slots", request.size, slotLimit)

  /** Returns why a flare cannot wait, once it is in the queue. Parts of sequences always can: the whole
    * sequence was accepted, and as the number of active sequences has a limit of its own, they are not in the
    * way of others.
    */
  def overflow(queue: FlareQueue, request: FlareRequest, settings: SchedulerSettings): Option[Refusal] =
    val tenant = request.definition.namespace
    if Waiting.isPart(request) then None
    else if queue.exceeds(settings.queueLimit) then Some(Refusal.QueueFull(settings.queueLimit))
    else if queue.exceeds(settings.namespaceQueueLimit, tenant) then
      Some(Refusal.QueueFull(settings.namespaceQueueLimit))
    else None

  /** Creates the flare in its initial state, under the `id` that the submitter may have chosen. */
  def accept(request: FlareRequest, now: Timestamp, id: Option[FlareId] = None): Flare = Flare(
    id.getOrElse(FlareId.random()),
    request,
    FlareState.Queued,
    attempt = 1,
    granularity = None,
    created = now,
    placed = None,
    started = None,
    ended = None,
    error = None,
    packs = Vector.empty,
    workers = FlareLifecycle.pending(request.size)
  )
