package burst.invoker.metrics

import burst.node.SetupException
import burst.node.metrics.MetricsRegistry
import java.net.URI
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class MetricsServerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  private given ActorSystem[?] = kit.system
  private val registry = MetricsRegistry()
  private lazy val port =
    Await.result(
      MetricsServer.bind(MetricsAddress("127.0.0.1", 0), registry),
      20.seconds
    ).localAddress.getPort

  override def afterAll(): Unit = kit.shutdownTestKit()

  private def send(method: String, path: String): HttpResponse[String] =
    val request = HttpRequest
      .newBuilder(URI(s"http://127.0.0.1:$port$path"))
      .method(method, BodyPublishers.noBody())
      .build()
    HttpClient.newHttpClient().send(request, BodyHandlers.ofString())

  test("metrics are served in Prometheus' format"):
    InvokerMetrics(registry).measured(slots = 7, warm = 2, prewarmed = 1, load = 0.5)
    val reply = send("GET", "/metrics")
    assertEquals(reply.statusCode, 200)
    assert(reply.headers.firstValue("content-type").orElse("").startsWith("text/plain; version=0.0.4"))
    for line <- Seq(
        "burst_invoker_slots 7.0",
        "burst_invoker_cpu_load 0.5",
        """burst_invoker_packs{state="warm"} 2.0""",
        """burst_invoker_packs{state="prewarmed"} 1.0"""
      )
    do assert(reply.body.linesIterator.contains(line), s"$line is not in\n${reply.body}")
    assertEquals(send("HEAD", "/metrics").statusCode, 200)

  test("no other paths or methods are served"):
    for path <- Seq("/", "/metrics/", "/ping", "/metrics/x", "/api/v1") do
      assertEquals(send("GET", path).statusCode, 404, path)
    for method <- Seq("POST", "DELETE", "BREW") do
      val status = send(method, "/metrics").statusCode
      assert(status == 405 || status == 501, s"$method: $status")

  test("an address in use is refused with an explanation"):
    val again = MetricsServer.bind(MetricsAddress("127.0.0.1", port), MetricsRegistry())
    val problem = intercept[SetupException](Await.result(again, 20.seconds))
    assert(problem.getMessage.contains(s"burst.invoker.metrics: 127.0.0.1:$port"), problem.getMessage)
