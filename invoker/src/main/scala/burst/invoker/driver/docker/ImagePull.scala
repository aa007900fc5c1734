package burst.invoker.driver
package docker

import com.github.dockerjava.api.async.ResultCallback
import com.github.dockerjava.api.model.PullResponseItem
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try
import scala.util.control.NonFatal

/** How the pull of an image ended, and why so. */
private[driver] enum PullEnd:
  case Whole
  case TooLarge(why: String)

  /** The disk is full. */
  case Full(why: String)
  case Failed(why: String)

private[driver] object PullEnd:
  private val MostReason = 500

  /** The daemon has no code for it. */
  def of(problem: String): PullEnd =
    val why = problem.take(MostReason)
    if problem.contains("no space left on device") then Full(why) else Failed(why)

/** Pulls images on threads of the daemon's client, and breaks off what becomes larger than `most` bytes or
  * takes longer than `time`.
  */
private[driver] final class ImagePull(daemon: DockerDaemon, most: Long, time: FiniteDuration)(using
    ExecutionContext
):
  import ImagePull.*

  private val log = LoggerFactory.getLogger(classOf[ImagePull])

  /** `deadline` is when the time is over, of which others may have taken some. */
  def start(reference: String, deadline: Deadline): Future[PullEnd] =
    val ended = Promise[PullEnd]()
    try
      val pull = Pull(most, ended)
      daemon.pull(reference, pull)
      Delay.after(deadline.timeLeft):
        if ended.trySuccess(PullEnd.Failed(s"it could not be pulled within $time")) then
          log.warn("image {} could not be pulled within {}", reference, time)
          val _ = Try(pull.close())
    catch
      case NonFatal(problem) =>
        val _ = ended.trySuccess(PullEnd.of(DockerDriver.reason(problem)))
    ended.future

private object ImagePull:
  /** Docker's own bound of an image. */
  private val MostLayers = 127

  private final class Pull(most: Long, ended: Promise[PullEnd])
      extends ResultCallback.Adapter[PullResponseItem]:
    private var layers = Map.empty[String, Long]

    override def onNext(item: PullResponseItem): Unit =
      for error <- Option(item.getErrorDetail).flatMap(detail => Option(detail.getMessage)) do
        val _ = ended.trySuccess(PullEnd.of(error))
      for
        id <- Option(item.getId)
        total <- Option(item.getProgressDetail).flatMap(detail => Option(detail.getTotal))
      do layers = layers.updated(id, total.longValue)
      if layers.values.sum > most || layers.size > MostLayers then
        val why = s"it has more than ${most >> 20} MiB, or more than $MostLayers layers"
        // Told to stop before anybody looks whether it is there all the same.
        try close()
        finally
          val _ = ended.trySuccess(PullEnd.TooLarge(why))

    override def onError(problem: Throwable): Unit =
      val _ = ended.trySuccess(PullEnd.of(DockerDriver.reason(problem)))
      super.onError(problem)

    override def onComplete(): Unit =
      val _ = ended.trySuccess(PullEnd.Whole)
      super.onComplete()
