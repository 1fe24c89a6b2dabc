package headway.bench;

import java.io.OutputStream;
import java.io.StringReader;
import org.apache.batik.transcoder.TranscoderInput;
import org.apache.batik.transcoder.TranscoderOutput;
import org.apache.batik.transcoder.image.PNGTranscoder;

/** Batik paints SVG drawings into PNG images. An item is one drawing of 60 shapes. */
final class Batik implements Program {
  @Override
  public void run(int threads, int items) throws Exception {
    Workers.run(
        threads,
        items,
        (worker, item) ->
            new PNGTranscoder()
                .transcode(
                    new TranscoderInput(new StringReader(drawing(item))),
                    new TranscoderOutput(OutputStream.nullOutputStream())));
  }

  private static String drawing(int item) {
    Text text = new Text(item);
    StringBuilder svg =
        new StringBuilder("<svg xmlns='http://www.w3.org/2000/svg' width='600' height='600'>")
            .append("<defs><linearGradient id='g'><stop offset='0' stop-color='red'/><stop offset='1' stop-color='blue'/>")
            .append("</linearGradient></defs>");
    for (int i = 0; i < 60; i++) {
      int x = text.number(600);
      int y = text.number(600);
      switch (i % 3) {
        case 0 ->
            svg.append("<circle cx='" + x + "' cy='" + y + "' r='" + (10 + text.number(60)) + "' fill='url(#g)' opacity='0.6'/>");
        case 1 ->
            svg.append("<path d='M" + x + " " + y + " q 80 " + text.number(90) + " 20 160 t -60 40 z' stroke='black' fill='none'/>");
        default -> svg.append("<text x='" + x + "' y='" + y + "' font-size='18'>" + text.words(3) + "</text>");
      }
    }
    return svg.append("</svg>").toString();
  }
}
