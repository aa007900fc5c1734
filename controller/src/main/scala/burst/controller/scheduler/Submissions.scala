package burst.controller.scheduler

import GangScheduler.{Submit, Submitted}
import burst.controller.flare.Flare
import burst.protocol.FlareId

/** Handles submissions: a flare is refused, placed immediately or queued; or held while invokers that it
  * needs may be on their way to a scheduler that has just started. Flares of revoked namespaces are refused.
  * Belongs to the scheduler's actor.
  *
  * @param mayStillCome
  *   whether invokers may be on their way
  */
private[scheduler] final class Submissions(
    environment: FlareEnvironment,
    state: SchedulerState,
    flares: FlareActors,
    groups: GroupTurns,
    mayStillCome: () => Boolean,
    placed: Placement => FlareActor.Placed,
    place: Placement => Unit
):
  import environment.clock.{elapsed, now}
  import environment.settings

  private val early = EarlySubmissions(settings)
  private var revoked = Set.empty[String]

  def revoke(namespace: String): Unit = revoked += namespace
  def reopen(namespace: String): Unit = revoked -= namespace
  def isRevoked(namespace: String): Boolean = revoked(namespace)

  def add(submit: Submit): Unit = submit.id match
    case Some(id) if flares.isThere(id) =>
      // A flare that is just ending is stored, or soon is.
      val _ = flares.tell(id, FlareActor.SubmittedAgain(submit.replyTo))
    case _ if isRevoked(submit.request.definition.namespace) => refuse(submit, Refusal.NamespaceRevoked)
    case _ => submit.request.memberOf.fold(enter(submit))(join(submit, _))

  /** Invokers have registered, or none is on its way any more. */
  def addEarly(): Unit = early.take().foreach(add)

  /** Cancels a flare that is held; returns whether it was. */
  def cancel(id: FlareId): Boolean = early.cancel(id)

  def queue(flare: Flare): Unit =
    state.enqueue(Waiting(flare.id, flare.attempt, flare.request.withoutInputs, elapsed()))

  private def enter(submit: Submit): Unit =
    val tenant = submit.request.definition.namespace
    state.allow(tenant, submit.slotLimit)
    // A part of a sequence waits for invokers to register: the whole sequence was accepted.
    val refusal = state.refusal(submit.request, submit.slotLimit)
    refusal.filterNot(_.isOfFewInvokers && Waiting.isPart(submit.request)) match
      case Some(refusal) if refusal.isOfFewInvokers && mayStillCome() =>
        if !early.add(submit) then refuse(submit, refusal)
      case Some(refusal) => refuse(submit, refusal)
      case None =>
        val flare = AdmissionControl.accept(submit.request, now(), submit.id)
        queue(flare)
        val isFull = state.overflow(submit.request).isDefined
        val (own, others) = state.round(mayNotWait = isFull).partition(_.flare.id == flare.id)
        others.foreach(place)
        own.headOption match
          case Some(placement) => flares.begin(flare, accepted(submit, Some(placed(placement))))
          case None =>
            state.overflow(submit.request) match
              case Some(refusal) =>
                state.dequeue(flare.id, tenant)
                refuse(submit, refusal)
              case None => flares.begin(flare, accepted(submit, None))

  /** A flare of a group does not queue here. */
  private def join(submit: Submit, group: FlareId): Unit =
    if !flares.contains(group) || groups.isClosing(group) then refuse(submit, Refusal.GroupEnded(group))
    else if groups.length(group) > settings.namespaceQueueLimit then
      refuse(submit, Refusal.QueueFull(settings.namespaceQueueLimit))
    else
      val flare = AdmissionControl.accept(submit.request, now(), submit.id)
      flares.begin(flare, accepted(submit, groups.join(group, flare.id)))

  private def refuse(submit: Submit, refusal: Refusal): Unit = submit.replyTo ! Submitted.Refused(refusal)

  private def accepted(submit: Submit, placed: Option[FlareActor.Placed]): FlareActor.Arrival =
    val isWaitedFor = submit.id.isDefined && Submitting.isHeld(submit.request)
    FlareActor.Arrival.Accepted(submit.replyTo, placed, isWaitedFor, isAskedForAgain = submit.id.isDefined)
