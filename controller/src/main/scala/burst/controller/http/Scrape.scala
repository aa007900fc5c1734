package burst.controller.http

import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, FlareStore}
import burst.node.metrics.MetricsRegistry
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.model.{ContentType, ContentTypes, HttpEntity, HttpResponse}
import org.apache.pekko.pattern.after
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** The answer to `/metrics`. Anyone may ask, and it costs a look into the database: only one runs at a time,
  * for all callers. The database or the scheduler may be what is broken: figures that they do not deliver
  * within `patience` are left out.
  */
final class Scrape(
    metrics: Metrics,
    flares: FlareStore,
    service: FlareService,
    patience: FiniteDuration,
    blocking: Blocking
)(using system: ActorSystem[?]):
  import Scrape.*
  import system.executionContext

  private val states = Source(() => blocking(flares.countByState()))
  private val views = Source(() => service.invokers())
  private var scraped: Future[HttpResponse] = Future.failed(IllegalStateException("nobody has asked yet"))

  def answer(): Future[HttpResponse] = synchronized:
    if scraped.isCompleted then scraped = measured()
    scraped

  private def measured(): Future[HttpResponse] =
    val (asked, listed) = (inTime(states), inTime(views))
    for
      states <- asked
      views <- listed
    yield HttpResponse(entity = HttpEntity.Strict(PrometheusText, metrics.render(states, views)))

  private def inTime[A](source: Source[A]): Future[Option[A]] =
    val late = after(patience)(Future.successful(None))
    Future.firstCompletedOf(Seq(source.answer().map(Some(_)).recover(_ => None), late))

private object Scrape:
  private val PrometheusText =
    ContentType.parse(MetricsRegistry.ContentType).getOrElse(ContentTypes.`text/plain(UTF-8)`)

  /** Figures from one source, which is not asked again before it has answered. */
  private final class Source[A](ask: () => Future[A]):
    private var last = Option.empty[Future[A]]

    def answer(): Future[A] = synchronized:
      val asked = last.filterNot(_.isCompleted).getOrElse(Future.delegate(ask())(using
        scala.concurrent.ExecutionContext.parasitic
      ))
      last = Some(asked)
      asked
