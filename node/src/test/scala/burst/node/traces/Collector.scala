package burst.node.traces

import com.sun.net.httpserver.HttpServer
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest
import io.opentelemetry.proto.trace.v1.{ResourceSpans, Span}
import java.net.InetSocketAddress
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}
import java.util.zip.GZIPInputStream
import scala.jdk.CollectionConverters.*

/** Receives traces by OTLP, as a collector does. */
final class Collector(status: Int = 200):
  private val arrived = LinkedBlockingQueue[ExportTraceServiceRequest]()
  private val credentials = LinkedBlockingQueue[String]()
  private val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
  server.createContext(
    "/v1/traces",
    exchange =>
      val sent = exchange.getRequestBody
      val plain =
        if exchange.getRequestHeaders.getFirst("Content-Encoding") == "gzip" then GZIPInputStream(sent)
        else sent
      arrived.add(ExportTraceServiceRequest.parseFrom(plain))
      credentials.add(Option(exchange.getRequestHeaders.getFirst("x-key")).getOrElse(""))
      exchange.sendResponseHeaders(status, -1)
      exchange.close()
  )
  server.start()

  val endpoint: String = s"http://127.0.0.1:${server.getAddress.getPort}"

  /** The next batch of spans that is sent. */
  def next(): Vector[ResourceSpans] =
    val request = arrived.poll(20, TimeUnit.SECONDS)
    if request == null then throw AssertionError("no traces arrived")
    request.getResourceSpansList.asScala.toVector

  def key(): String = credentials.take()
  def close(): Unit = server.stop(0)

object Collector:
  def spans(of: ResourceSpans): Vector[Span] =
    of.getScopeSpansList.asScala.toVector.flatMap(_.getSpansList.asScala)

  def service(of: ResourceSpans): String =
    of.getResource.getAttributesList.asScala.find(
      _.getKey == "service.name"
    ).fold("")(_.getValue.getStringValue)
