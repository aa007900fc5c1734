package burst.node.logs

import burst.node.logs.LogIds.of
import burst.protocol.{FlareId, Origin, TraceContext}
import ch.qos.logback.classic.LoggerContext
import ch.qos.logback.classic.joran.JoranConfigurator
import ch.qos.logback.classic.util.LogbackMDCAdapter
import io.circe.parser.parse
import java.nio.file.{Files, Path}
import org.slf4j.Logger
import scala.jdk.CollectionConverters.*

/** How a node's own logback.xml formats a line about a flare. */
class LogFormatsSuite extends munit.FunSuite:
  private val id = FlareId.parse("0123456789abcdef0123456789abcdef").get
  private val origin = Origin("request1", Some(TraceContext.of("4b" * 16, "1" * 16, sampled = true)))

  private def logged(format: String)(write: Logger => Unit): Vector[String] =
    val directory = Files.createTempDirectory("burst-logs")
    val context = LoggerContext()
    context.setMDCAdapter(LogbackMDCAdapter())
    context.putProperty("burst-logs", directory.toString)
    context.putProperty("burst-log-format", format)
    val configurator = JoranConfigurator()
    configurator.setContext(context)
    configurator.doConfigure(Path.of("src/main/resources/logback.xml").toFile)
    write(context.getLogger("burst.node.Something"))
    context.stop()
    Files.readAllLines(directory.resolve("burst.log")).asScala.toVector

  test("a text line ends with the ids of its subject"):
    val lines = logged("text"): log =>
      log.atInfo().of(id, Some(origin)).log("pack {} has gone", 3)
      log.info("nothing of the kind")
    assert(
      lines(0).endsWith(
        s" - pack 3 has gone [flare=${id.value} transaction=request1 trace=${"4b" * 16}]"
      ),
      lines(0)
    )
    assert(lines(1).endsWith(" - nothing of the kind"), lines(1))

  test("logged text never forms a line of its own, and moves no terminal's cursor"):
    val forged = "gone\n2026-01-01T00:00:00.000Z ERROR b.node.Other - no\r\u2028no\u001b[2J"
    val lines = logged("text"): log =>
      log.info("pack {}", forged)
      log.error("it broke", IllegalStateException(forged))
      log.info("the next")
    val ownLines = lines.filter(_.matches("20\\d\\d-.*"))
    assertEquals(ownLines.map(_.replaceFirst(".* - ", "")), Vector("pack gone", "it broke", "the next"))
    val rest = lines.filterNot(ownLines.contains)
    assert(rest.forall(line => line.startsWith("  ") || line.startsWith("\t")), rest.mkString("\n"))
    assert(!lines.exists(_.exists(c => c.isControl && c != '\t')), lines.mkString("\n"))

  test("a single control character or other line end cannot do so either"):
    for (forged, shown) <- List("\u009b2J" -> "?2J", "a\u0085b" -> "a", "a\u2028b" -> "a", "é✓" -> "é✓") do
      val lines = logged("text")(_.info("{}", forged))
      assert(lines(0).endsWith(s" - $shown"), lines.mkString("\n"))
      assert(lines.drop(1).forall(_ == "  b"), lines.mkString("\n"))

  test("a JSON line is an object"):
    val lines = logged("json"): log =>
      log.atInfo().of(id, Some(origin)).setCause(RuntimeException("so")).log("a \"pack\"\nhas gone")
    val line = parse(lines(0)).fold(throw _, identity).hcursor
    def field(name: String) = line.get[String](name)
    assertEquals(field("level"), Right("INFO"))
    assertEquals(field("message"), Right("a \"pack\"\nhas gone"))
    assertEquals(field("flare"), Right(id.value))
    assertEquals(field("transaction"), Right("request1"))
    assertEquals(field("trace"), Right("4b" * 16))
    assert(field("exception").exists(_.contains("RuntimeException: so")))
    assertEquals(lines.size, 1)
