package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{ContainerStatus, Pod, PodCondition}
import scala.jdk.CollectionConverters.*

/** The last that was seen of a pod. */
private[driver] enum PodSnapshot:
  case Present(pod: Pod)
  case Gone

/** What the status of a pack's pod says: pure. Reasons are those Kubernetes gives, on one line. */
private[driver] object PodState:

  /** Where its runtime is going to listen, or why it never will. */
  def address(snapshot: PodSnapshot): Option[Either[PodProblem, String]] = snapshot match
    case PodSnapshot.Gone => Some(Left(PodProblem.Deleted))
    case PodSnapshot.Present(pod) =>
      exit(snapshot)
        .map(exit => Left(PodProblem.Ended(exit)))
        .orElse(waiting(pod).collect {
          case (reason, why) if Hopeless(reason) => Left(PodProblem.Hopeless(why))
        })
        .orElse(status(pod).flatMap(status => text(status.getPodIP)).map(Right(_)))

  /** What keeps it from running, as far as that is known. */
  def obstacle(snapshot: PodSnapshot): Option[String] = snapshot match
    case PodSnapshot.Gone => None
    case PodSnapshot.Present(pod) => waiting(pod).map(_(1)).orElse(noNode(pod))

  /** Whether it has been given a node, or never will be. */
  def placed(snapshot: PodSnapshot): Option[Unit] =
    val onNode = snapshot match
      case PodSnapshot.Gone => true
      case PodSnapshot.Present(pod) =>
        Option(pod.getSpec).exists(it => text(it.getNodeName).isDefined) || status(pod).exists(it =>
          text(it.getPodIP).isDefined
        )
    Option.when(onNode || exit(snapshot).isDefined)(())

  /** Whether no node has taken it, or the one it was given turned it away. */
  def foundNoRoom(snapshot: PodSnapshot): Boolean = snapshot match
    case PodSnapshot.Gone => false
    case PodSnapshot.Present(pod) =>
      noNode(pod).isDefined || status(pod).exists(it => text(it.getReason).exists(_.startsWith("OutOf")))

  def exit(snapshot: PodSnapshot): Option[ContainerExit] = snapshot match
    case PodSnapshot.Gone => Some(ContainerExit(None, oomKilled = false, Some("the pod was deleted")))
    case PodSnapshot.Present(pod) => terminated(pod).orElse(finished(pod))

  def gone(snapshot: PodSnapshot): Option[Unit] = snapshot match
    case PodSnapshot.Gone => Some(())
    case PodSnapshot.Present(_) => None

  /** What the kubelet holds it to, where it says so. */
  def limits(pod: Pod): Option[PodLimits] =
    container(pod).flatMap(container => Option(container.getResources)).flatMap(PodLimits.read)

  /** Whether its node has no room for the limits it is asked to have. It may find some later: nobody waits
    * for that. Servers before 1.34 do not say to which request a refusal belongs, which is then not taken for
    * one.
    */
  def refused(pod: Pod, wanted: PodLimits): Boolean =
    val asked = Option(pod.getSpec).flatMap(_.getContainers.asScala.headOption).flatMap(container =>
      PodLimits.read(container.getResources)
    )
    asked.contains(wanted) && condition(pod, "PodResizePending", "True").exists: condition =>
      condition.getObservedGeneration != null &&
        condition.getObservedGeneration == pod.getMetadata.getGeneration

  /** Reasons that waiting does not mend, or has been tried already. */
  private val Hopeless = Set("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")

  private def terminated(pod: Pod): Option[ContainerExit] =
    for
      container <- container(pod)
      state <- Option(container.getState)
      end <- Option(state.getTerminated)
    yield
      val reason = text(end.getReason).filterNot(Set("Error", "Completed", "OOMKilled"))
      val why = reason.map(told(_, end.getMessage)).orElse(cause(pod))
      ContainerExit(Option(end.getExitCode).map(_.intValue), end.getReason == "OOMKilled", why)

  /** Ended by Kubernetes, perhaps before there was a container. */
  private def finished(pod: Pod): Option[ContainerExit] =
    status(pod)
      .filter(status => status.getPhase == "Failed" || status.getPhase == "Succeeded")
      .map(_ => ContainerExit(None, oomKilled = false, cause(pod)))

  private def cause(pod: Pod): Option[String] =
    for
      status <- status(pod)
      reason <- text(status.getReason)
    yield told(reason, status.getMessage)

  private def waiting(pod: Pod): Option[(String, String)] =
    for
      container <- container(pod)
      state <- Option(container.getState)
      waiting <- Option(state.getWaiting)
      reason <- text(waiting.getReason)
    yield (reason, told(reason, waiting.getMessage))

  private def noNode(pod: Pod): Option[String] =
    for
      condition <- condition(pod, "PodScheduled", "False")
      reason <- text(condition.getReason)
    yield told(reason, condition.getMessage)

  private def condition(pod: Pod, name: String, status: String): Option[PodCondition] =
    this.status(pod).flatMap(_.getConditions.asScala.find(it => it.getType == name && it.getStatus == status))

  private def status(pod: Pod) = Option(pod.getStatus)

  private def container(pod: Pod): Option[ContainerStatus] =
    status(pod).flatMap(_.getContainerStatuses.asScala.headOption)

  private def text(value: String): Option[String] = Option(value).filter(_.nonEmpty)

  private def told(reason: String, message: String): String =
    (reason +: text(message).map(_.linesIterator.mkString(" ").take(300)).toVector).mkString(": ")
