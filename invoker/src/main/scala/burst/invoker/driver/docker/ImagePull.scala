package burst.invoker.driver
package docker

import com.github.dockerjava.api.async.ResultCallback
import com.github.dockerjava.api.model.PullResponseItem
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try
import scala.util.control.NonFatal

/** Pulls images on threads of the daemon's client, and cancels pulls that exceed `most` bytes or take longer
  * than `time`.
  */
private[driver] final class ImagePull(daemon: DockerDaemon, most: Long, time: FiniteDuration)(using
    ExecutionContext
):
  import ImagePull.*

  private val log = LoggerFactory.getLogger(classOf[ImagePull])

  /** Pulls an image; the result is the reason if it failed. It times out at `deadline`; others may have used
    * up part of `time` before.
    */
  def start(reference: String, deadline: Deadline): Future[Either[ImageProblem, Unit]] =
    val ended = Promise[Either[ImageProblem, Unit]]()
    try
      val pull = Pull(most, ended)
      daemon.pull(reference, pull)
      Delay.after(deadline.timeLeft):
        if ended.trySuccess(Left(ImageProblem.TooSlow(time))) then
          log.warn("image {} could not be pulled within {}", reference, time)
          val _ = Try(pull.close())
    catch
      case NonFatal(problem) =>
        val _ = ended.trySuccess(Left(ImageProblem.ofPull(DockerDriver.reason(problem))))
    ended.future

private object ImagePull:
  /** Docker's own limit for an image. */
  private val MostLayers = 127

  private final class Pull(most: Long, ended: Promise[Either[ImageProblem, Unit]])
      extends ResultCallback.Adapter[PullResponseItem]:
    private var layers = Map.empty[String, Long]

    override def onNext(item: PullResponseItem): Unit =
      for error <- Option(item.getErrorDetail).flatMap(detail => Option(detail.getMessage)) do
        val _ = ended.trySuccess(Left(ImageProblem.ofPull(error)))
      for
        id <- Option(item.getId)
        total <- Option(item.getProgressDetail).flatMap(detail => Option(detail.getTotal))
      do layers = layers.updated(id, total.longValue)
      if layers.values.sum > most || layers.size > MostLayers then
        // Closed before anybody checks whether the image exists all the same.
        try close()
        finally
          val _ = ended.trySuccess(Left(ImageProblem.TooLargeToPull(most >> 20, MostLayers)))

    override def onError(problem: Throwable): Unit =
      val _ = ended.trySuccess(Left(ImageProblem.ofPull(DockerDriver.reason(problem))))
      super.onError(problem)

    override def onComplete(): Unit =
      val _ = ended.trySuccess(Right(()))
      super.onComplete()
