package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{ContainerStatus, Pod, PodCondition}
import scala.jdk.CollectionConverters.*

/** The last known state of a pod. */
private[driver] enum PodSnapshot:
  case Present(pod: Pod)
  case Deleted

/** Interprets the status of a pack's pod: pure functions. Reasons are those that Kubernetes gives, on one
  * line.
  */
private[driver] object PodState:

  /** Where its runtime will listen, or why it never will. */
  def address(snapshot: PodSnapshot): Option[Either[PodProblem, String]] = snapshot match
    case PodSnapshot.Deleted => Some(Left(PodProblem.Deleted))
    case PodSnapshot.Present(pod) =>
      exit(snapshot)
        .map(exit => Left(PodProblem.Ended(exit)))
        .orElse(waiting(pod).collect {
          case (reason, why) if Unresolvable(reason) => Left(PodProblem.Unresolvable(why))
        })
        .orElse(status(pod).flatMap(status => text(status.getPodIP)).map(Right(_)))

  /** What keeps it from running, if known. */
  def obstacle(snapshot: PodSnapshot): Option[String] = snapshot match
    case PodSnapshot.Deleted => None
    case PodSnapshot.Present(pod) => waiting(pod).map(_(1)).orElse(noNode(pod))

  /** Whether it has been scheduled, or never will be. */
  def placed(snapshot: PodSnapshot): Option[Unit] =
    val onNode = snapshot match
      case PodSnapshot.Deleted => true
      case PodSnapshot.Present(pod) =>
        Option(pod.getSpec).exists(it => text(it.getNodeName).isDefined) || status(pod).exists(it =>
          text(it.getPodIP).isDefined
        )
    Option.when(onNode || exit(snapshot).isDefined)(())

  /** Whether no node has room for it, or its node rejected it. */
  def foundNoRoom(snapshot: PodSnapshot): Boolean = snapshot match
    case PodSnapshot.Deleted => false
    case PodSnapshot.Present(pod) =>
      noNode(pod).isDefined || status(pod).exists(it => text(it.getReason).exists(_.startsWith("OutOf")))

  def exit(snapshot: PodSnapshot): Option[ContainerExit] = snapshot match
    case PodSnapshot.Deleted => Some(ContainerExit(None, oomKilled = false, Some("the pod was deleted")))
    case PodSnapshot.Present(pod) => terminated(pod).orElse(finished(pod))

  def deleted(snapshot: PodSnapshot): Option[Unit] = snapshot match
    case PodSnapshot.Deleted => Some(())
    case PodSnapshot.Present(_) => None

  /** The limits that the kubelet enforces, if it reports them. */
  def limits(pod: Pod): Option[PodLimits] =
    container(pod).flatMap(container => Option(container.getResources)).flatMap(PodLimits.read)

  /** Whether its node has no room for the requested limits. It may have some later, but nobody waits for
    * that. Servers before 1.34 do not report which request a refusal belongs to; it then does not count as
    * one.
    */
  def refused(pod: Pod, requested: PodLimits): Boolean =
    val current = Option(pod.getSpec).flatMap(_.getContainers.asScala.headOption).flatMap(container =>
      PodLimits.read(container.getResources)
    )
    current.contains(requested) && condition(pod, "PodResizePending", "True").exists: condition =>
      condition.getObservedGeneration != null &&
        condition.getObservedGeneration == pod.getMetadata.getGeneration

  /** Reasons that waiting does not resolve, or for which it has already been tried. */
  private val Unresolvable = Set("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")

  private def terminated(pod: Pod): Option[ContainerExit] =
    for
      container <- container(pod)
      state <- Option(container.getState)
      end <- Option(state.getTerminated)
    yield
      val reason = text(end.getReason).filterNot(Set("Error", "Completed", "OOMKilled"))
      val why = reason.map(describe(_, end.getMessage)).orElse(cause(pod))
      ContainerExit(Option(end.getExitCode).map(_.intValue), end.getReason == "OOMKilled", why)

  /** Ended by Kubernetes, perhaps before it had a container. */
  private def finished(pod: Pod): Option[ContainerExit] =
    status(pod)
      .filter(status => status.getPhase == "Failed" || status.getPhase == "Succeeded")
      .map(_ => ContainerExit(None, oomKilled = false, cause(pod)))

  private def cause(pod: Pod): Option[String] =
    for
      status <- status(pod)
      reason <- text(status.getReason)
    yield describe(reason, status.getMessage)

  private def waiting(pod: Pod): Option[(String, String)] =
    for
      container <- container(pod)
      state <- Option(container.getState)
      waiting <- Option(state.getWaiting)
      reason <- text(waiting.getReason)
    yield (reason, describe(reason, waiting.getMessage))

  private def noNode(pod: Pod): Option[String] =
    for
      condition <- condition(pod, "PodScheduled", "False")
      reason <- text(condition.getReason)
    yield describe(reason, condition.getMessage)

  private def condition(pod: Pod, name: String, status: String): Option[PodCondition] =
    this.status(pod).flatMap(_.getConditions.asScala.find(it => it.getType == name && it.getStatus == status))

  private def status(pod: Pod) = Option(pod.getStatus)

  private def container(pod: Pod): Option[ContainerStatus] =
    status(pod).flatMap(_.getContainerStatuses.asScala.headOption)

  private def text(value: String): Option[String] = Option(value).filter(_.nonEmpty)

  private def describe(reason: String, message: String): String =
    (reason +: text(message).map(_.linesIterator.mkString(" ").take(300)).toVector).mkString(": ")
