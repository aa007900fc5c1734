package burst.simulator

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import org.apache.commons.csv.CSVFormat
import org.knowm.xchart.BitmapEncoder.BitmapFormat
import org.knowm.xchart.style.Styler.LegendPosition
import org.knowm.xchart.style.markers.SeriesMarkers
import org.knowm.xchart.{BitmapEncoder, XYChartBuilder}
import scala.util.Using

/** A line of a plot. */
final case class Line(name: String, points: Vector[(Double, Double)])

/** Tables as CSV, lines as pictures, into one directory. */
final class Results(directory: Path):
  Files.createDirectories(directory)

  def table(name: String, heads: Seq[String], rows: Seq[Seq[Any]]): Unit =
    println(s"\n$name\n${heads.mkString(" | ")}")
    rows.foreach(row => println(row.map(shown).mkString(" | ")))
    Using.resource(Files.newBufferedWriter(directory.resolve(s"$name.csv"), UTF_8)) { writer =>
      val printer = CSVFormat.DEFAULT.builder.setHeader(heads*).setRecordSeparator('\n').get.print(writer)
      rows.foreach(row => printer.printRecord(row.map(shown)*))
    }

  def plot(name: String, title: String, x: String, y: String, lines: Seq[Line], log: Boolean = false): Unit =
    val chart =
      XYChartBuilder().width(800).height(500).title(title).xAxisTitle(x).yAxisTitle(y).build()
    chart.getStyler.setLegendPosition(LegendPosition.OutsideE)
    chart.getStyler.setXAxisLogarithmic(log).setYAxisLogarithmic(log)
    lines.foreach { line =>
      chart
        .addSeries(line.name, line.points.map(_._1).toArray, line.points.map(_._2).toArray)
        .setMarker(SeriesMarkers.NONE)
    }
    BitmapEncoder.saveBitmap(chart, directory.resolve(s"$name.png").toString, BitmapFormat.PNG)

  private def shown(value: Any): String = value match
    case number: Double if number.abs >= 100 => f"$number%.0f"
    case number: Double => f"$number%.3f"
    case other => other.toString
